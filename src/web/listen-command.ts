// The one line that shows a developer the first callback: it runs `ringback listen` with the programme's values. The same
// words on Integration and in the guide.

import { DEFAULT_BRAND } from "../domain/network.ts";
import { quote } from "../domain/shell-words.ts";
import { isLoopbackHost } from "../domain/warning.ts";
import { findOwnCommand, type OwnCommand } from "../own-command.ts";
import { downloadUrl } from "./downloads.ts";

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
export const SECRET_VARIABLE = "RINGBACK_SIGNING_SECRET";

export interface ShownOnce {
	key: string;
	secret: string;
}

/** Whoever opens an address of their own machine sits where the service runs, and needs to fetch nothing. */
export function listenCommand(
	{ publicUrl, ownCommand = findOwnCommand() }: { publicUrl: string; ownCommand?: OwnCommand },
	brand: string,
	{ key, secret }: ShownOnce = { key: "rbk_…", secret: "rbs_…" },
): string {
	const isHere = isLoopbackHost(new URL(publicUrl).host);
	// Without a question whether it may be fetched: where there is no terminal, nobody could answer it.
	const fetched = `npx --yes -p ${downloadUrl(publicUrl)} ringback`;
	return [
		...(isHere && ownCommand.folder !== null ? [`cd ${quote(ownCommand.folder)} &&`] : []),
		`RINGBACK_URL=${publicUrl}`,
		...(brand === DEFAULT_BRAND ? [] : [`RINGBACK_BRAND=${brand}`]),
		`${API_KEY_VARIABLE}=${key}`,
		`${SECRET_VARIABLE}=${secret}`,
		`${isHere ? ownCommand.program.map(quote).join(" ") : fetched} listen`,
	].join(" \\\n");
}
