// The three tables of the plugin. They are not Vendure entities, because the outbox needs numeric keys that rise, also
// in shops whose Vendure entities have UUIDs.

import type { OutboxCall } from "@ringback/receiver/outbox";
import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn, UpdateDateColumn } from "typeorm";

/** An order that was reported. Its values are those of the conversion at the network. */
@Entity({ name: "ringback_sale" })
export class RingbackSale {
	@PrimaryColumn("varchar")
	orderCode!: string;

	/** Reported `basketValue` and the amount that the customer paid, both in the smallest unit of the currency. */
	@Column("int")
	reported!: number;

	@Column("int")
	paid!: number;

	@Column("varchar", { nullable: true })
	conversionId!: string | null;

	@Column("varchar", { nullable: true })
	status!: string | null;

	@Column("varchar", { nullable: true })
	basketValue!: string | null;

	@Column("varchar", { nullable: true })
	commission!: string | null;

	@Column("varchar", { nullable: true })
	networkFee!: string | null;

	/** Which partner signal was credited, or why nobody was. */
	@Column("varchar", { nullable: true })
	credit!: string | null;

	@Index()
	@UpdateDateColumn()
	changedAt!: Date;
}

/** A call to the network that waits to be sent, or that was sent. It is written in the order's own transaction. */
@Entity({ name: "ringback_call" })
export class RingbackCall {
	@PrimaryGeneratedColumn()
	id!: number;

	@Index()
	@Column("varchar")
	orderCode!: string;

	@Column("simple-json")
	call!: OutboxCall;

	/** Rule by which the value of a sale was computed, or null for other calls. */
	@Column("varchar", { nullable: true })
	basketRule!: string | null;

	/** `settled` means that the network refused the call because there was nothing left to do. */
	@Index()
	@Column("varchar", { default: "open" })
	state!: "open" | "done" | "settled" | "refused";

	@Column("int", { default: 0 })
	attempts!: number;

	/** Time in milliseconds before which the call is not tried again. It is a text because it does not fit an integer. */
	@Column("varchar", { default: "0" })
	dueAtMs!: string;

	/** Sentence that says why the last attempt failed, for people. */
	@Column("text", { nullable: true })
	detail!: string | null;
}

/** A callback that was received. Conversion and event recognize repeats. */
@Entity({ name: "ringback_callback" })
@Index(["conversionId", "event"], { unique: true })
export class RingbackCallback {
	/** Number in the order of arrival, in which open callbacks are handled. */
	@PrimaryGeneratedColumn()
	id!: number;

	@Column("varchar")
	conversionId!: string;

	@Column("varchar")
	event!: string;

	@Column("text")
	body!: string;

	@Index()
	@Column("boolean", { default: false })
	isDone!: boolean;
}
