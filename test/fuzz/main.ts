// The command `npm run fuzz`.

import { runProof } from "../support/proof.ts";
import { fuzzProof } from "./proof.ts";

process.exitCode = await runProof(fuzzProof, process.argv.slice(2));
