// `npm run docs`: writes what the code decides into docs/receiver-guide.md. A test fails while that is not done.

import { readFileSync, writeFileSync } from "node:fs";
import { buildGuide } from "../src/web/docs/guide-build.ts";
import { GUIDE_FILE } from "../src/web/docs/guide-examples.ts";

const before = readFileSync(GUIDE_FILE, "utf8");
const after = buildGuide(before);
if (after !== before) writeFileSync(GUIDE_FILE, after);
console.log(after === before ? "docs/receiver-guide.md is up to date" : "docs/receiver-guide.md was written");
