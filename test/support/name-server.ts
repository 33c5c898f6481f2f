// A name server whose names have IPv4 addresses that change while a test looks on.

import { startZoneServer } from "./zone-server.ts";

export interface NameServer {
	/** For RINGBACK_DNS_SERVERS. */
	readonly address: string;
	/** IPv4 addresses by name; a name that is not here does not exist. */
	readonly records: Map<string, readonly string[]>;
	close(): Promise<void>;
}

export async function startNameServer(): Promise<NameServer> {
	const records = new Map<string, readonly string[]>();
	const { address, close } = await startZoneServer(({ name, type }) => {
		const known = records.get(name);
		if (known === undefined) return { failure: "NXDOMAIN" };
		return { answers: type === "A" ? known.map((data) => ({ type, data })) : [] };
	});
	return { address, records, close };
}
