// What is true of the whole installation, as a process that delivers last read it (every minute): every such process
// says the same, a little earlier or later.

import { SECOND_MS } from "../domain/time.ts";
import type { DiskSpace } from "../ports.ts";
import type { Figures } from "../store/queries/figures.ts";
import { type Family, gauge } from "./exposition.ts";

export interface InstallationFigures extends Figures {
	/** Where the database's file is; null where it is on a server. */
	disk: DiskSpace | null;
}

type ReadFigures = () => InstallationFigures | null;

export function installationFamilies(read: ReadFigures): readonly Family[] {
	const figure = (
		name: string,
		help: string,
		value: (figures: InstallationFigures) => number | null,
	): Family =>
		gauge(name, help, () => {
			const figures = read();
			return figures === null ? null : value(figures);
		});
	return [
		figure(
			"ringback_figures_timestamp_seconds",
			"When this process last read the figures that are read once a minute: those below up to the disk's",
			({ readAtMs }) => readAtMs / SECOND_MS,
		),
		figure(
			"ringback_queue_depth",
			"Deliveries in the queue, due now or later; estimated above 100,000 on PostgreSQL",
			({ queued }) => queued,
		),
		figure(
			"ringback_failing_programmes",
			"Programmes whose callbacks are failing seriously now, up to 200",
			({ failing: { shops, more } }) => shops.length + more,
		),
		ofFailing(
			read,
			"ringback_failing_programme_undelivered",
			"Undelivered callbacks of the programmes that are failing the most, 20 at most, each counted up to 2,000",
			({ waiting, failed }) => waiting + failed,
		),
		ofFailing(
			read,
			"ringback_failing_programme_since_timestamp_seconds",
			"Since when the callbacks of these programmes have been failing",
			({ sinceMs }) => sinceMs / SECOND_MS,
		),
		figure(
			"ringback_unmailed_notices",
			"Notices that people should have been mailed about by now, up to 10,000; also while there is no mail server",
			({ unmailedNotices }) => unmailedNotices,
		),
		figure(
			"ringback_waiting_mails",
			"Mails about accounts and programmes that should have been sent by now, up to 10,000",
			({ waitingMails }) => waitingMails,
		),
		figure(
			"ringback_database_size_bytes",
			"Size of the database with its indexes",
			({ databaseBytes }) => databaseBytes,
		),
		figure(
			"ringback_disk_free_bytes",
			"Free room on the disk of the SQLite file; PostgreSQL's disk is not ours to see",
			({ disk }) => disk?.freeBytes ?? null,
		),
		figure(
			"ringback_disk_size_bytes",
			"Size of the disk of the SQLite file",
			({ disk }) => disk?.sizeBytes ?? null,
		),
	];
}

type FailingShop = Figures["failing"]["shops"][number];

/** By the public id: a name may change, and belongs on no dashboard. */
function ofFailing(
	read: ReadFigures,
	name: string,
	help: string,
	value: (shop: FailingShop) => number,
): Family {
	return {
		name,
		help,
		type: "gauge",
		read: () => (read()?.failing.shops ?? []).map((shop) => [{ programme: shop.publicId }, value(shop)]),
	};
}
