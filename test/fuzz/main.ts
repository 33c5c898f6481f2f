// npm run fuzz

import { runProof } from "../support/proof.ts";
import { FUZZ } from "./fuzz.ts";

process.exitCode = await runProof(FUZZ, process.argv.slice(2));
