"""Entry point of the CDK: `cdk synth`, `cdk deploy`."""

from infra.app import build

if __name__ == "__main__":
    build().synth()
