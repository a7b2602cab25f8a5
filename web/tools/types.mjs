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
  const plain = simplified(JSON.parse(JSON.stringify(whole).replaceAll('"#/$defs/', '"#/definitions/')));
  const source = await compile(plain, "Contracts", {
    bannerComment: "",
    unreachableDefinitions: true,
    additionalProperties: false,
    style: { printWidth: 120 },
  });
  return source.replace(/export interface Contracts \{\}\n*/, "");
}

/**
 * A title names a type, and those that pydantic gives to mere properties would make one of each; keys beside a `$ref`
 * (a default) would make a second type of its own.
 * @param {any} node @param {boolean} [top] @returns {any}
 */
function simplified(node, top = true) {
  if (Array.isArray(node)) return node.map((item) => simplified(item, false));
  if (typeof node !== "object" || node === null) return node;
  if (node.$ref) return { $ref: node.$ref };
  const entries = Object.entries(node)
    .filter(([key, value]) => top || key !== "title" || typeof value !== "string")
    .map(([key, value]) => [key, key in NAMED ? named(value) : simplified(value, false)]);
  return Object.fromEntries(entries);
}

/** Keys under which names are the host's, not the schema's. @type {Record<string, true>} */
const NAMED = { definitions: true, properties: true };

/** @param {any} schemas @returns {any} */
function named(schemas) {
  return Object.fromEntries(Object.entries(schemas).map(([name, part]) => [name, simplified(part, false)]));
}
