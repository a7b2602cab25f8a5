/** agrun.js: a classic script that sets one global, `Agrun`, and defines `<agrun-chat>`. */

import { setDefaultBase } from "./api/runtime.js";
import { defineChatElement } from "./chat/element.js";

const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
const base = new URL(".", script?.src || document.baseURI).href;
setDefaultBase(base);
defineChatElement(base);

export * from "./api/agrun.js";
