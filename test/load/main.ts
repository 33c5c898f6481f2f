// The command `npm run load`.

import { runProof } from "../support/proof.ts";
import { loadProof } from "./proof.ts";

process.exitCode = await runProof(loadProof, process.argv.slice(2));
