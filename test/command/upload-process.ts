// The process that sends uploads: apart from the test, whose own work would otherwise be taken for the service's delay.

import { serveParent } from "../support/forked-process.ts";
import type { UploadAnswer, UploadOrder } from "./upload-messages.ts";
import { FOURTEEN_MIB, makeLongFile, upload } from "./upload-request.ts";

const FILES: Readonly<Record<UploadOrder["file"], Buffer>> = {
	"fourteen MiB": FOURTEEN_MIB,
	"40,000 rows": makeLongFile(),
};

serveParent<null, UploadOrder, UploadAnswer>(null, async ({ url, path, file, isChunked, count, senders }) => {
	const outcomes = await Promise.all(
		Array.from({ length: count }, async (_, index) => {
			const by = senders[index % senders.length] ?? null;
			try {
				return String((await upload({ url, path }, FILES[file], { by, isChunked })).status);
			} catch {
				return "hung up";
			}
		}),
	);
	return new Map(
		[...Map.groupBy(outcomes, (outcome) => outcome)].map(([outcome, all]) => [outcome, all.length]),
	);
});
