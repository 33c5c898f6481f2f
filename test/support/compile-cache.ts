// Folder in which the test processes cache compiled sources. Hundreds of processes load the same sources, and
// compiling takes a third of the time of a short one.

import { fileURLToPath } from "node:url";

/** The folder lies in node_modules, as is usual for caches. Node itself detects outdated entries. */
export const COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url));
