// Writes the command that shows a developer the first callback. It runs `ringback listen` with the values of the
// programme.

import { DEFAULT_BRAND } from "../domain/network.ts";
import { downloadUrl } from "./downloads.ts";

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
export const SECRET_VARIABLE = "RINGBACK_SIGNING_SECRET";

export interface ShownOnce {
	key: string;
	secret: string;
}

const PLACEHOLDERS: ShownOnce = { key: "rbk_…", secret: "rbs_…" };

export function listenCommand(publicUrl: string, brand: string, shown = PLACEHOLDERS): string {
	return [
		`RINGBACK_URL=${publicUrl}`,
		...(brand === DEFAULT_BRAND ? [] : [`RINGBACK_BRAND=${brand}`]),
		...credentialsOf(shown),
		// Without --yes, npx would ask before it installs the package.
		`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
	].join(" \\\n");
}

/** Returns the settings of the listen command as lines for a .env file, in which no line may end with a backslash. */
export function envLines(publicUrl: string, brand: string, shown = PLACEHOLDERS): string {
	return [`RINGBACK_URL=${publicUrl}`, `RINGBACK_BRAND=${brand}`, ...credentialsOf(shown)].join("\n");
}

function credentialsOf({ key, secret }: ShownOnce): string[] {
	return [`${API_KEY_VARIABLE}=${key}`, `${SECRET_VARIABLE}=${secret}`];
}
