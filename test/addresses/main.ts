// The command behind `npm run addresses`.

import { runProof } from "../support/proof.ts";
import { addressesProof } from "./proof.ts";

process.exitCode = await runProof(addressesProof, process.argv.slice(2));
