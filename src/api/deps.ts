// Dependencies of the HTTP interface, which service.ts provides.

import type { Context } from "hono";
import type { ClickCounts } from "../clicks/counts.ts";
import type { AddressRange } from "../domain/address.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Log, RequestRecord } from "../ports.ts";
import type { KnownNetwork } from "../store/queries/known-network.ts";
import type { InstallationWatch } from "../watch/installation-watch.ts";
import type { Metrics } from "../watch/metrics.ts";
import type { Readiness } from "../watch/readiness.ts";

export interface AppDeps extends AccountsDeps {
	log: Log;
	/** The network's settings. Its brand is part of the signature headers, X-<brand>-Signature. */
	network: KnownNetwork;
	/** Address that people open, without a slash at its end. Problem types are addresses below it. */
	publicUrl: string;
	/** Watches how requests reach the service, to warn about wrong proxies. */
	installation: InstallationWatch;
	/** Counts calls. The metrics address, which is another app, shows the counts. */
	metrics: Metrics;
	/** Counts refused pixel calls. The service stores the counts when it stops. */
	limitedCalls: LimitedCalls;
	/** Counts clicks on partners' links. The service stores the counts when it stops. */
	clickCounts: ClickCounts;
	/** Proxies whose X-Forwarded-For header is trusted. */
	trustedProxies: readonly AddressRange[];
	/** Is notified whenever calls were stored or could not be stored. */
	storing?: StoringWatch;
	/** Whether the database can be used. */
	readiness: Readiness;
	/** Returns why the service is not ready, or null if it is. /readyz asks it in addition to the database. */
	unready?: () => Unready | null;
	/** Aborted when the service stops. The service does not wait for open streams to end. */
	stopSignal?: AbortSignal | undefined;
}

/** Why a service is not ready: it is being stopped, or for a reason that only the operator may read. */
export type Unready = "stopping" | { reason: string };

export interface StoringWatch {
	/** Notes the error of an attempt to store calls, or null if it succeeded. */
	note(error: unknown): void;
	isFailing(): boolean;
}

export interface LimitedCalls {
	/** Counts a refused call. `programmeId` is the programme in the address, which may not exist. */
	note(programmeId: string, block: string | null): void;
	/** Stores the counts. Called when no more calls come and before the store is closed. */
	stop(): Promise<void>;
}

/** Both fields are set by @hono/node-server. They are missing for a request that was made in process. */
export interface AppEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			headers?: Readonly<Record<string, string | string[] | undefined>>;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** False until the last byte of the body has arrived. */
			complete?: boolean;
			/** "end" is emitted when the whole body was read. */
			once?(event: "end", run: () => void): unknown;
			/** Record for metrics and logs (outside/request-records.ts). */
			record?: RequestRecord;
		};
		/** A long answer emits "takesLong", so that its connection is not closed too early (outside/connection-guard.ts). */
		outgoing?: { destroy(): unknown; emit?(event: "takesLong"): unknown };
	};
}

export type AppContext = Context<AppEnv>;
