// `npm run docs`: writes what the code decides into docs/receiver-guide.md. A test fails while that is not done.

import { readFileSync, writeFileSync } from "node:fs";
import { buildGuide } from "../src/web/docs/guide-build.ts";
import { GUIDE_PATH } from "../src/web/docs/guide-examples.ts";

const file = new URL(`../${GUIDE_PATH}`, import.meta.url);
const before = readFileSync(file, "utf8");
const after = buildGuide(before);
if (after !== before) writeFileSync(file, after);
console.log(after === before ? `${GUIDE_PATH} is up to date` : `${GUIDE_PATH} was written`);
