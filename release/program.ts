// Entry point of the executable. It does the same as src/ringback.js, without the steps that only the sources
// need.

import { main } from "../src/main.ts";

process.exitCode = await main(process.argv.slice(2));
