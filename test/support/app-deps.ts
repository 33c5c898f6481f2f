// What an app in a test is wired up with, besides its store, clock, random and log: an installation that is as it
// should be, with mail off and names that lead nowhere.

import { createMetrics } from "../../src/api/metrics.ts";
import { createLimitedCalls } from "../../src/api/pixel-limits.ts";
import type { AllDeps } from "../../src/app.ts";
import type { WarningSettings } from "../../src/domain/warning.ts";
import type { MailDispatcher } from "../../src/mail/dispatcher.ts";
import { temporaryFilesOfSystem } from "../../src/outside/temporary-files.ts";
import { createKnownNetwork } from "../../src/store/queries/known-network.ts";
import { createInstallationWatch } from "../../src/watch/installation-watch.ts";
import { makeMetricsDeps } from "./metrics-deps.ts";

export const SOUND_INSTALLATION: WarningSettings = {
	publicUrl: "https://ringback.example",
	trustedProxies: [],
	hasMail: true,
	allowsPrivateRanges: false,
};

/** As the dispatcher is without SMTP_URL, for tests in which nobody is mailed. */
export const MAIL_OFF: MailDispatcher = {
	isOn: false,
	enqueue: async () => undefined,
	send: () => undefined,
	wake: () => undefined,
	settled: async () => undefined,
	stop: async () => undefined,
};

export function makeAppDeps(parts: Pick<AllDeps, "store" | "clock" | "random" | "log">): AllDeps {
	return {
		...parts,
		sealingKey: new Uint8Array(32).fill(7),
		network: createKnownNetwork(parts, null),
		publicUrl: "https://ringback.example",
		isPublicUrlSet: true,
		allowsPrivateRanges: false,
		staffAuthenticator: "optional",
		metrics: createMetrics(makeMetricsDeps(parts)),
		limitedCalls: createLimitedCalls(parts),
		mails: MAIL_OFF,
		mailer: null,
		installation: createInstallationWatch(
			{ ...parts, knownChores: () => [], clockOffsetMs: () => null, deliveryPause: () => null },
			SOUND_INSTALLATION,
		),
		trustedProxies: [],
		bulk: { wake: () => undefined },
		imports: { wake: () => undefined },
		system: { instance: "0a1b2c3d", version: "1.2.3", readDisk: async () => null },
		temporaryFiles: temporaryFilesOfSystem(),
		transport: { lookUp: async () => ({ ok: false, code: "ENOTFOUND" }) },
		addressPolicy: { allowedPrivateRanges: [] },
	};
}
