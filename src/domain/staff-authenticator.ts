// Whether somebody must have an authenticator: a setting of the network, for its own people.

export type StaffAuthenticator = "optional" | "required";
export const STAFF_AUTHENTICATOR: readonly StaffAuthenticator[] = ["optional", "required"];

/** Shops decide for themselves about their owners. */
export function isAuthenticatorRequired(setting: StaffAuthenticator, role: "owner" | "staff"): boolean {
	return setting === "required" && role === "staff";
}
