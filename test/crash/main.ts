// `npm run crash -- --rounds N [--seed S] [--kind K]`

import { runProof } from "../support/proof.ts";
import { crashProof } from "./proof.ts";

process.exitCode = await runProof(crashProof, process.argv.slice(2));
