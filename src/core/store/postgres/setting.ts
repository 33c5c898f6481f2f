// Settings for PostgreSQL. They have their own file, so that reading settings does not load a database client.

export interface PostgresSetting {
	kind: "postgres";
	/** Address for queries: the server itself, or a pooler in transaction mode. It may name several hosts. */
	url: string;
	/**
	 * Address of the server itself if `url` is a pooler, because LISTEN and migrations need a session. Null if `url` is
	 * the server.
	 */
	directUrl: string | null;
	/** Maximum number of connections of one process, not counting the connection that listens. */
	poolSize: number;
	preparesStatements: boolean;
}

export const POSTGRES_DEFAULTS = {
	directUrl: null,
	// PostgreSQL allows 100 connections by default, and several processes share them.
	poolSize: 10,
	preparesStatements: true,
} as const satisfies Partial<PostgresSetting>;

const ADDRESS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^@/?#]*)(.*)$/;
const TARGET = /([?&])target_session_attrs=([^&]*)(&|$)/;
/**
 * Values of `target_session_attrs` with which libpq chooses a server that accepts writes. Ringback always needs such a
 * server.
 */
const WRITABLE = ["read-write", "primary"];

/**
 * Returns an address for each host of `postgres://user:password@one,two:5433/database?target_session_attrs=read-write`,
 * or undefined if the text is not a PostgreSQL address. The client `pg` supports neither several hosts nor that
 * parameter.
 */
export function splitHosts(text: string): readonly string[] | undefined {
	const [, scheme, account, hosts = "", rest = ""] = ADDRESS.exec(text) ?? [];
	if (scheme === undefined) return undefined;
	const wanted = TARGET.exec(rest)?.[2];
	if (wanted !== undefined && !WRITABLE.includes(wanted)) return undefined;
	const others = rest.replace(TARGET, (_whole, before: string, _value, after: string) =>
		after === "&" ? before : "",
	);
	const urls = hosts.split(",").map((host) => `${scheme}${account}${host}${others}`);
	const areHosts = urls.length === 1 || hosts.split(",").every((host) => host !== "");
	return areHosts && urls.every((url) => URL.canParse(url)) ? urls : undefined;
}

/** Returns an address for each host of an address that was accepted as a setting. */
export function hostsOf(url: string): readonly string[] {
	return splitHosts(url) ?? [url];
}
