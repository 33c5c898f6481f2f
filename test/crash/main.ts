// `npm run crash -- --rounds N [--seed S] [--kind K]`

import { EXIT } from "../../src/cli/command.ts";
import { runProof } from "../support/proof.ts";
import { crashProof } from "./proof.ts";

// Broken off by hand: by leaving in order, the services that it started go with it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(EXIT.failed));

process.exitCode = await runProof(crashProof, process.argv.slice(2));
