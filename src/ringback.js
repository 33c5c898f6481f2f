#!/usr/bin/env -S node --max-semi-space-size=8
// Entry point of `ringback` and `npm start`. The command itself is main.ts, which needs a recent Node.

// The whole module is imported, because an old Node lacks the named export and would fail before it could say
// what is missing.
import nodeModule from "node:module";
import { join } from "node:path";
import "./needs-node.js";

// Caches the sources without their types beside the installed packages, because stripping types costs seconds
// and 25 MB at each start. If the folder cannot be written, every start strips again.
nodeModule.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/ringback"));

const { main } = await import("./main.ts");
process.exitCode = await main(process.argv.slice(2));
