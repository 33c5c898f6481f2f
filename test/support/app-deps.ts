// Default dependencies of an app under test, except its store, clock, random and log. They describe a healthy
// installation with mail turned off and a name server that knows no names.

import { createLimitedCalls } from "#core/api/limited-pixel-calls.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import type { MailDispatcher } from "#core/mail/dispatcher.ts";
import { createNetworkCache } from "#core/store/network-cache.ts";
import { NOTHING_READ } from "#core/store/queries/system.ts";
import { createClickCounts } from "#modules/partners/use-cases/click-counts.ts";
import type { AllDeps } from "../../src/app.ts";
import { CHANGES } from "../../src/modules.ts";
import { temporaryFilesOfSystem } from "../../src/outside/temporary-files.ts";
import {
	createInstallationWatch,
	type InstallationWatch,
	type InstallationWatchDeps,
} from "../../src/watch/installation-watch.ts";
import { createReadiness } from "../../src/watch/readiness.ts";
import { makeMetrics, SOUND_STATE } from "./metrics-deps.ts";

/** State of an installation without any problem. */
export function makeInstallation(
	change: Pick<InstallationWatchDeps, "clock" | "log"> & Partial<InstallationWatchDeps>,
): InstallationWatch {
	return createInstallationWatch({
		settings: SOUND_STATE.settings,
		host: "127.0.0.1",
		clockOffsetMs: () => null,
		readSystem: async () => NOTHING_READ,
		readDisk: async () => null,
		readCertificates: () => [],
		...change,
	});
}

/** A mail dispatcher without a mail server, for tests in which nobody gets mail. */
export const MAIL_OFF: MailDispatcher = {
	isOn: false,
	enqueue: async () => undefined,
	later: () => undefined,
	wake: () => undefined,
	settled: async () => undefined,
	stop: async () => undefined,
};

export function makeAppDeps(parts: Pick<AllDeps, "store" | "clock" | "random" | "log">): AllDeps {
	return {
		...parts,
		changes: CHANGES,
		keyRing: createKeyRing([new Uint8Array(32).fill(7)]),
		network: createNetworkCache(parts, null),
		publicUrl: "https://ringback.example",
		isPublicUrlSet: true,
		clickUrl: "https://ringback.example",
		retentionDays: 180,
		statementYears: 10,
		allowsPrivateRanges: false,
		companySignIn: null,
		staffAuthenticator: "optional",
		metrics: makeMetrics(parts),
		limitedCalls: createLimitedCalls(parts),
		clickCounts: createClickCounts(parts),
		mails: MAIL_OFF,
		mailer: null,
		installation: makeInstallation(parts),
		readiness: createReadiness(parts),
		trustedProxies: [],
		jobs: { wake: () => undefined },
		system: { instance: "0a1b2c3d", version: "1.2.3" },
		temporaryFiles: temporaryFilesOfSystem(),
		transport: { lookUp: async () => ({ ok: false, code: "ENOTFOUND" }) },
		addressPolicy: { allowedPrivateRanges: [] },
	};
}
