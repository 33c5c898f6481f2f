// The command `npm run hostile`.

import { runProof } from "../support/proof.ts";
import { hostileProof } from "./proof.ts";

process.exitCode = await runProof(hostileProof, process.argv.slice(2));
