#!/usr/bin/env -S node --max-semi-space-size=8
// What `ringback` and `npm start` run: the command itself is main.ts, which only a new enough Node can read.

// As a whole: an old Node has no such export, and would end before it could say what it lacks.
import nodeModule from "node:module";
import { join } from "node:path";
import "./needs-node.js";

// What is left of the sources without their types, kept beside the installed packages: the next start does without the
// stripping, which costs seconds and 25 MB that stay. Where that folder cannot be written, every start strips again.
nodeModule.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/ringback"));

const { main } = await import("./main.ts");
process.exitCode = await main(process.argv.slice(2));
