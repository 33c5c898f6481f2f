// The settings for PostgreSQL. They are not in store.ts, because reading settings needs no database client.

export interface PostgresSetting {
	kind: "postgres";
	/** Address for queries: the server itself, or a pooler in transaction mode. */
	url: string;
	/**
	 * Address of the server itself if `url` is a pooler, because LISTEN and migrations need a session. Null if `url` is
	 * the server.
	 */
	directUrl: string | null;
	/** Maximum number of connections of one process, without the one that listens. */
	poolSize: number;
	/** Whether statements may be prepared by name. */
	preparesStatements: boolean;
}

export const POSTGRES_DEFAULTS = {
	directUrl: null,
	// PostgreSQL allows 100 connections by default, and several processes share them.
	poolSize: 10,
	preparesStatements: true,
} as const satisfies Partial<PostgresSetting>;
