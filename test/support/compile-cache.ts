// Where the tests' processes keep what they compiled. They are hundreds, they load the same sources, and a third of
// what a short one takes is compiling them.

import { fileURLToPath } from "node:url";

/** Goes with node_modules, where tools keep such. Node finds by itself what is out of date. */
export const COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url));
