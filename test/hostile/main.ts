// `npm run hostile`.

import { runProof } from "../support/proof.ts";
import { createHostileProof } from "./hostile-proof.ts";

const proof = createHostileProof((line) => process.stdout.write(`${line}\n`));
process.exitCode = await runProof(proof, process.argv.slice(2));
