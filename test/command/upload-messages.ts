// What a test says to the process that sends uploads for it.

export interface UploadOrder {
	url: string;
	path: string;
	file: "fourteen MiB" | "40,000 rows";
	isChunked: boolean;
	count: number;
	/** In turn. */
	senders: readonly ({ cookies: ReadonlyMap<string, string>; csrf: string } | null)[];
}

/** The statuses that came back, and how many were hung up on. */
export type UploadAnswer = ReadonlyMap<string, number>;
