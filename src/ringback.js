#!/usr/bin/env node
// What `npx ringback` and `npm start` run: the command itself is main.ts, which only a new enough Node can read.

import "./needs-node.js";

await import("./main.ts");
