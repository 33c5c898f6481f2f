// The command behind `npm run addresses`.

import { runProof } from "../support/proof.ts";
import { addressProof } from "./proof.ts";

process.exitCode = await runProof(addressProof, process.argv.slice(2));
