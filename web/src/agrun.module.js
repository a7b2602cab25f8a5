/** agrun.mjs: the same names as a module; importing it defines `<agrun-chat>` too. */

import { setDefaultBase } from "./api/runtime.js";
import { defineChatElement } from "./chat/element.js";

const base = new URL(".", import.meta.url).href;
setDefaultBase(base);
defineChatElement(base);

export * from "./api/agrun.js";
