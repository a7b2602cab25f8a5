/** agrun.d.ts: the hand-written classes, and the contracts as generated from their JSON Schemas. */

import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

/** @param {import("./paths.js").Paths} paths @param {Record<string, any>} schemas */
export async function writeTypes({ web, dist }, schemas) {
  const contracts = await contractTypes(schemas);
  const api = readFileSync(`${web}src/agrun.d.ts`, "utf8").replace(/^import .*"\.\/contracts\.js";\n/m, "");
  writeFileSync(`${dist}/agrun.d.ts`, `${api}\n${contracts}`);
}

/** One declaration for each model, however many schemas hold it. @param {Record<string, any>} schemas */
async function contractTypes(schemas) {
  /** @type {Record<string, any>} */
  const definitions = {};
  for (const { $defs = {}, ...schema } of Object.values(schemas)) {
    Object.assign(definitions, $defs);
    if (schema.title) definitions[schema.title] = schema;
  }
  const whole = { title: "Contracts", type: "object", additionalProperties: false, definitions };
  const text = JSON.stringify(whole).replaceAll('"#/$defs/', '"#/definitions/');
  const source = await compile(untitled(JSON.parse(text)), "Contracts", {
    bannerComment: "",
    unreachableDefinitions: true,
    additionalProperties: false,
    format: false,
  });
  return source.replace(/export interface Contracts \{\}\n/, "");
}

/** A title names a type; those that pydantic gives to mere properties would make one of each. @param {any} node @returns {any} */
function untitled(node, top = true) {
  if (Array.isArray(node)) return node.map((item) => untitled(item, false));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) => {
    if (key === "definitions" || key === "properties") {
      return [key, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, untitled(part, false)]))];
    }
    return [key, untitled(value, false)];
  });
  return Object.fromEntries(entries.filter(([key, value]) => top || key !== "title" || typeof value !== "string"));
}
