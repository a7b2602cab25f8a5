/** licenses.txt: the licences of all that dist/ holds of others, Python packages and JS. */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";

/** What is in dist/ without being bundled. */
const COPIED = ["pyodide"];

/**
 * @param {import("./paths.js").Paths} paths @param {string} python the texts of the Python packages
 * @param {import("esbuild").Metafile[]} metafiles of what was bundled
 */
export function writeLicenses({ web, dist }, python, metafiles) {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const bundled = inputs.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const names = [...new Set([...COPIED, ...bundled])].filter((name) => name !== undefined).sort();
  const texts = names.flatMap((name) => textsOf(name, `${web}node_modules/${name}`));
  writeFileSync(`${dist}/licenses.txt`, [...texts, python].join("\n"));
}

/** @param {string} name @param {string} folder */
function textsOf(name, folder) {
  const { version, license, repository } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  if (!files.length) return [`==== ${name}-${version}\n\n${license}, ${repository?.url ?? repository}\n`];
  return files.map((file) => `==== ${name}-${version}: ${file}\n\n${readFileSync(`${folder}/${file}`, "utf8")}`);
}
