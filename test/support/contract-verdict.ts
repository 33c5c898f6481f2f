// Says what the outcome of an attempt means for its delivery, from the table in section 7 of the contract and the
// limit in section 8. This file is written independently of the product, so that a mistake in the product cannot
// confirm itself.

/** Maximum number of attempts in a run, from contract section 8. */
export const CONTRACT_ATTEMPTS = 7;

/**
 * Meaning of an outcome. `again` means another attempt if some are left. `never` means a final failure, which the
 * owner is told about.
 */
export type Meaning = "well" | "again" | "never";

/** Returns the meaning of a stored attempt. `httpStatus` is null if the shop did not answer. */
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
