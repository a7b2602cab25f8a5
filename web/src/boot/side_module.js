/**
 * The native module of pydantic-core, linked at the same place in memory at every boot.
 *
 * It is linked before Python's `main` runs, under the path Python would open. So a snapshot of the memory, which holds
 * addresses of its data and functions, fits a later boot; that boot checks that the place is the same all the same. Must
 * not know where a snapshot comes from.
 */

const FOLDER = "/lib/python3.14/site-packages/pydantic_core";

export const SIDE_MODULE = {
  asset: "pydantic_core.so.zst",
  folder: FOLDER,
  path: `${FOLDER}/_pydantic_core.cpython-314-wasm32-emscripten.so`,
};

/** The ends of memory and function table once it is linked. @typedef {[number, number]} Place */
/** What must fit again. @typedef {{place: Place, handles: number[], heap: number, table: number}} Fit */

/** @type {WeakMap<object, Place>} */
const places = new WeakMap();

/**
 * Pyodide's module, with the side module linked in before `main`, and made ready for a snapshot where there is one.
 * @param {(settings: any) => Promise<any>} factory @param {any} settings
 * @param {Promise<WebAssembly.Module>} compiled @param {import("./snapshot.js").Snapshot} [snapshot]
 */
export async function createLinked(factory, settings, compiled, snapshot) {
  const link = (/** @type {any} */ module) => {
    module.addRunDependency("side-module");
    linkSideModule(module, compiled).then(
      () => module.removeRunDependency("side-module"),
      (error) => module.abort?.(error) ?? console.error(error),
    );
  };
  const module = await factory({ ...settings, preRun: [...settings.preRun, link] });
  if (snapshot) {
    await snapshot.checked; // Pyodide copies its memory next
    makeFit(module, snapshot.fit);
  }
  return module;
}

/** What a snapshot of this module's memory needs of the next one. @param {any} module @returns {Fit} */
export function fitOf(module) {
  const libraries = /** @type {[string, {name: string}][]} */ (Object.entries(module.LDSO.loadedLibsByHandle));
  const handles = libraries.filter(([, { name }]) => name === SIDE_MODULE.path).map(([handle]) => Number(handle));
  const place = places.get(module.LDSO);
  if (!place || !handles.length) throw new Error("Python does not use the side module that was linked");
  return { place, handles, heap: module.HEAP8.length, table: module.wasmTable.length };
}

/** @param {any} module @param {Promise<WebAssembly.Module>} compiled */
async function linkSideModule(module, compiled) {
  const { LDSO } = module;
  const flags = { loadAsync: true, global: false, nodelete: true, allowUndefined: true };
  const exports = await module.loadWebAssemblyModule(await compiled, flags, SIDE_MODULE.path, {}, 0);
  module.newDSO(SIDE_MODULE.path, 0, exports).global = false;
  LDSO.loadedLibsByHandle[0] = LDSO.loadedLibsByName["__main__"];
  places.set(LDSO, [module.HEAPU32[module._emscripten_get_sbrk_ptr() >>> 2], module.wasmTable.length]);
}

/** @param {any} module @param {Fit} fit */
function makeFit(module, { place, handles, heap, table }) {
  const found = places.get(module.LDSO);
  if (String(found) !== String(place)) throw new Error(`native code lies at ${found}, in the snapshot at ${place}`);
  if (module.HEAP8.length < heap && !module.growMemory(heap)) throw new Error(`no memory for ${heap} bytes`);
  // A function that was added later must not get the number of one that the snapshot may still name.
  if (module.wasmTable.length < table) module.wasmTable.grow(table - module.wasmTable.length);
  for (const handle of handles) module.LDSO.loadedLibsByHandle[handle] = module.LDSO.loadedLibsByName[SIDE_MODULE.path];
}
