// Names the folder in which test processes cache compiled sources. Hundreds of processes load the same sources, and
// compiling them takes a third of the time of a short process.

import { fileURLToPath } from "node:url";

/** Path of the cache. It is in node_modules, as is usual for caches. Node itself detects outdated entries. */
export const COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url));
