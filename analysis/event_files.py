"""TensorBoard's event files of a run: takes the lines of its epochs.jsonl from standard input, one after the
other while it goes on, and writes them to the folder that is the only argument."""

import json
import sys

from tensorboardX import SummaryWriter

TAGS = {"loss": "loss/train", "train_accuracy": "accuracy/train", "val_accuracy": "accuracy/validation",
        "test_accuracy": "accuracy/test", "seconds": "time/epoch seconds"}


def main():
    writer = None
    for line in sys.stdin:
        epoch = json.loads(line)
        if writer is None:  # lines that a killed start wrote after its checkpoint do not count
            writer = SummaryWriter(sys.argv[1], purge_step=epoch["epoch"], flush_secs=5)
        for key, tag in TAGS.items():
            if epoch.get(key) is not None:
                writer.add_scalar(tag, epoch[key], epoch["epoch"])
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"event files cannot be written: {error}")
    except KeyboardInterrupt:
        pass  # the run reports that it was interrupted
