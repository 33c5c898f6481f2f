// What an app in a test is wired up with, besides its store, clock, random and log: an installation that is as it
// should be, with mail off and names that lead nowhere.

import { MAIL_OFF } from "../../test/support/mail-off.ts";
import { createInstallationWatch } from "../accounts/installation-watch.ts";
import type { AllDeps } from "../app.ts";
import type { WarningSettings } from "../domain/warning.ts";
import { temporaryFilesOfSystem } from "../outside/temporary-files.ts";
import { createLimitedCalls } from "./limited-calls.ts";
import { createMetrics } from "./metrics.ts";

export const SOUND_INSTALLATION: WarningSettings = {
	publicUrl: "https://ringback.example",
	trustedProxies: [],
	hasMail: true,
	allowsPrivateRanges: false,
};

export function makeTestDeps(parts: Pick<AllDeps, "store" | "clock" | "random" | "log">): AllDeps {
	return {
		...parts,
		sealingKey: new Uint8Array(32).fill(7),
		brand: "Service",
		publicUrl: "https://ringback.example",
		allowsPrivateRanges: false,
		staffAuthenticator: "optional",
		metrics: createMetrics({ clock: parts.clock, engineCounters: null }),
		limitedCalls: createLimitedCalls(parts),
		mails: MAIL_OFF,
		installation: createInstallationWatch(parts, SOUND_INSTALLATION),
		trustedProxies: [],
		bulk: { wake: () => undefined },
		temporaryFiles: temporaryFilesOfSystem(),
		transport: { lookUp: async () => ({ ok: false, code: "ENOTFOUND" }) },
		addressPolicy: { allowedPrivateRanges: [] },
	};
}
