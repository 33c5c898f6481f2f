// Entry point of the executable. It does what src/ringback.js does for the sources, without what only those
// need.

import { main } from "../src/main.ts";

process.exitCode = await main(process.argv.slice(2));
