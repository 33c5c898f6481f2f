// What the HTTP side of the house needs from whoever wires it up.

import type { Context } from "hono";
import type { ClickCounts } from "../clicks/counts.ts";
import type { AddressRange } from "../domain/address.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Log, RequestRecord } from "../ports.ts";
import type { KnownNetwork } from "../store/queries/known-network.ts";
import type { InstallationWatch } from "../watch/installation-watch.ts";
import type { Metrics } from "../watch/metrics.ts";

export interface AppDeps extends AccountsDeps {
	log: Log;
	/** Its brand names the signature headers: X-<brand>-Signature. */
	network: KnownNetwork;
	/** The address people open, without a slash at its end. Problem types are addresses below it. */
	publicUrl: string;
	/** Notices how shops reach the service. */
	installation: InstallationWatch;
	/** Counts calls here; read on the metrics address, which is another app. */
	metrics: Metrics;
	/** Counts the pixel calls that were not taken; whoever stops the service has it write them down. */
	limitedCalls: LimitedCalls;
	/** Clicks on partners' links; whoever stops the service has it write them down. */
	clickCounts: ClickCounts;
	/** Whose X-Forwarded-For says who is calling. */
	trustedProxies: readonly AddressRange[];
	/** Hears how it went whenever calls were stored. */
	storing?: StoringWatch;
	/** What /readyz asks besides the database: null while the service can work. */
	unready?: () => Unready | null;
	/** Aborted when the service stops: whoever is only listening is not waited for. */
	stopSignal?: AbortSignal | undefined;
}

/** Why a service takes no more: somebody stops it, or for a reason that is the operator's alone to read. */
export type Unready = "stopping" | { reason: string };

export interface StoringWatch {
	/** The error, or null when they are stored. */
	note(error: unknown): void;
	isFailing(): boolean;
}

export interface LimitedCalls {
	/** `programmeId` is what the address names. */
	note(programmeId: string, block: string | null): void;
	/** Resolves once everything counted is stored; to be called when no more calls come, and before the store closes. */
	stop(): Promise<void>;
}

/** Both are there behind @hono/node-server and missing when a request is made in process. */
export interface AppEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			headers?: Readonly<Record<string, string | string[] | undefined>>;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** Where requests are counted and logged: see outside/request-records. */
			record?: RequestRecord;
		};
		/** What takes long tells the listener so (outside/connection-guard). */
		outgoing?: { destroy(): unknown; emit?(event: "takesLong"): unknown };
	};
}

export type AppContext = Context<AppEnv>;
