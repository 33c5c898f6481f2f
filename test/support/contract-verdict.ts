// The meaning of an attempt's outcome for its delivery, from the table in section 7 of the contract and the limit in
// section 8. It is written apart from the product, so that a mistake there cannot confirm itself.

/** Section 8 allows up to seven attempts. */
export const CONTRACT_ATTEMPTS = 7;

/**
 * `again` means another attempt while some are left. `never` means a final failure, of which the owner is notified.
 */
export type Meaning = "well" | "again" | "never";

/** Takes an attempt as it is stored: its result, and the HTTP status if the shop gave one. */
export function meaningOf(result: string, httpStatus: number | null): Meaning {
	switch (result) {
		case "answered":
			return meaningOfStatus(httpStatus);
		case "timeout":
		case "network-error":
			return "again";
		case "forbidden-address":
			return "never";
		default:
			throw new RangeError(`"${result}" is no result of an attempt`);
	}
}

function meaningOfStatus(httpStatus: number | null): Meaning {
	if (httpStatus === null) throw new RangeError("an answer has a status");
	if (httpStatus >= 200 && httpStatus <= 299) return "well";
	return httpStatus >= 500 || httpStatus === 408 || httpStatus === 429 ? "again" : "never";
}
