// What the settings say about PostgreSQL. Apart from postgres.ts, because reading settings needs no database client.

export interface PostgresSetting {
	kind: "postgres";
	/** Where queries go: the server itself, or a pooler in transaction mode. */
	url: string;
	/**
	 * The server itself, where a pooler stands at `url`: LISTEN and migrations need a session of their own. Null when
	 * `url` is the server.
	 */
	directUrl: string | null;
	/** Connections of one process, besides the one that listens. */
	poolSize: number;
	/** Whether the server may be asked to remember statements by name. */
	preparesStatements: boolean;
}

export const POSTGRES_DEFAULTS = {
	directUrl: null,
	// PostgreSQL's own default allows 100 connections in all; several processes share them.
	poolSize: 10,
	preparesStatements: true,
} as const satisfies Partial<PostgresSetting>;
