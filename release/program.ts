// Where the executable begins: what src/ringback.js is to the sources, without what only those need.

import { main } from "../src/main.ts";

process.exitCode = await main(process.argv.slice(2));
