declare module "#core/store/schema/tables.ts" {
	interface Schema {
		api_references: ApiReferencesTable;
	}
}

/** One row is the caller's own name for something that was created over an API. */
export interface ApiReferencesTable {
	/** Id of the partner whose token created it, or 0 for the network. */
	owner_id: number;
	/** Name of the call that created it. References of different calls are independent. */
	kind: string;
	reference: string;
	/** SHA-256 of the values that the caller sent. The same reference with other values is refused. */
	request_hash: string;
	/** Public id of the created resource, or the code of a link, or the email address of an invited person. */
	resource: string;
	created_at_ms: number;
}
