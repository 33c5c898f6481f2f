// Implements the command `npm run simulate`. See docs/reliability.md.

import { runProof } from "../support/proof.ts";
import { simulationProof } from "./proof.ts";

process.exitCode = await runProof(simulationProof, process.argv.slice(2));
