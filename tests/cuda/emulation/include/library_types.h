// Types that NVIDIA's libraries share.
#pragma once

enum libraryPropertyType { MAJOR_VERSION = 0, MINOR_VERSION = 1, PATCH_LEVEL = 2 };
enum cudaDataType { CUDA_R_32F = 0 };
