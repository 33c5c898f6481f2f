// npm run load

import { runProof } from "../support/proof.ts";
import { LOAD } from "./load.ts";

process.exitCode = await runProof(LOAD, process.argv.slice(2));
