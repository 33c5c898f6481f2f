// The command `npm run crash`.

import { runProof } from "../support/proof.ts";
import { crashProof } from "./proof.ts";

process.exitCode = await runProof(crashProof, process.argv.slice(2));
