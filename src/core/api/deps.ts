// Dependencies of the HTTP interface, which service.ts provides.

import type { Context } from "hono";
import type { ClickCounts } from "#modules/partners/use-cases/click-counts.ts";
import type { InstallationWatch } from "../../watch/installation-watch.ts";
import type { Metrics } from "../../watch/metrics.ts";
import type { Readiness } from "../../watch/readiness.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import type { AddressRange } from "../domain/address.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Log, RequestRecord } from "../ports.ts";
import type { NetworkCache } from "../store/network-cache.ts";

export interface AppDeps extends AccountsDeps, ConversionsDeps {
	log: Log;
	/** The network's settings. Its brand is part of the signature headers, X-<brand>-Signature. */
	network: NetworkCache;
	/** Base URL of the pages, without a trailing slash. The `type` of a problem answer is a URL below it. */
	publicUrl: string;
	/**
	 * Watches how requests reach the service, and warns staff about a proxy that is not configured correctly.
	 */
	installation: InstallationWatch;
	/** Counts API calls and requests. Another app serves the counts on the metrics address. */
	metrics: Metrics;
	/** Counts refused pixel calls. The service stores the counts when it stops. */
	limitedCalls: LimitedCalls;
	/** Counts clicks on partners' links. The service stores the counts when it stops. */
	clickCounts: ClickCounts;
	/** Proxies whose X-Forwarded-For header is trusted. */
	trustedProxies: readonly AddressRange[];
	/** Gets the result of each attempt to store calls. */
	storing?: StoringWatch;
	/** Checks whether the database can be used. */
	readiness: Readiness;
	/**
	 * Returns the reason why the service is not ready, or null if it is ready. /readyz additionally checks the database.
	 */
	unready?: () => Unready | null;
	/** Signal that is aborted when the service stops. Open event streams then end at once. */
	stopSignal?: AbortSignal | undefined;
}

/**
 * Reason why a service is not ready. The public answer of /readyz says that the service is stopping, but only the
 * operator sees a `reason`.
 */
export type Unready = "stopping" | { reason: string };

export interface StoringWatch {
	/** Records the result of an attempt to store calls. `error` is null if the attempt succeeded. */
	note(error: unknown): void;
	isFailing(): boolean;
}

export interface LimitedCalls {
	/**
	 * Counts a refused call. `programmeId` comes from the request's address, so there may be no programme with this id.
	 */
	note(programmeId: string, block: string | null): void;
	/**
	 * Stores the remaining counts. The caller must have answered the last call, and must close the database only after
	 * this.
	 */
	stop(): Promise<void>;
}

/**
 * Objects that @hono/node-server adds to each request. They are missing if a request is made in process, as in tests.
 */
export interface AppEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			headers?: Readonly<Record<string, string | string[] | undefined>>;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** False until the last byte of the body has arrived. */
			complete?: boolean;
			/** Record for metrics and logs (outside/request-records.ts). */
			record?: RequestRecord;
		};
		/**
		 * Node's response. A long answer emits "takesLong" on it, so that outside/connection-guard.ts does not
		 * close the connection too early.
		 */
		outgoing?: { destroy(): unknown; emit?(event: "takesLong"): unknown };
	};
}

export type AppContext = Context<AppEnv>;
