// `ringback listen`: the package that a shop installs has the same.

import type { DelegatedCommand } from "./command.ts";
import { delegateTo } from "./shop-command.ts";

export const listenCommand: DelegatedCommand = delegateTo("listen");
